# fish completion for piorch: the program itself says what fits; this passes it on.

function __piorch_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in (command piorch completions --words -- $before[2..-1] "$current" 2>/dev/null)
        switch $line
            case :files
                __fish_complete_path $current
            case :directories
                __fish_complete_directories $current
            case :program
                set -l at (contains -i -- -- $before)
                if test (count $before) -eq $at
                    __fish_complete_command
                else
                    complete -C (string join ' ' -- (string escape -- $before[(math $at + 1)..-1]) $current)
                end
            case '*'
                echo -- $line
        end
    end
end
complete -c piorch -f -a '(__piorch_complete)'
