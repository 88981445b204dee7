#compdef piorch
# zsh completion for piorch: the program itself says what fits; this passes it on.

_piorch() {
  local line
  local -a found
  while IFS= read -r line; do
    case $line in
      :files) compset -P '--*='; _files ;;
      :directories) compset -P '--*='; _files -/ ;;
      :program)
        local at=${words[(i)--]}
        (( CURRENT -= at ))
        shift $at words
        _normal
        return ;;
      *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done < <(command piorch completions --words -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#found )) && _describe -V piorch found
}

# As a file of fpath it is the function itself; sourced, it announces it.
if [[ ${funcstack[1]} == _piorch ]]; then
  _piorch "$@"
else
  compdef _piorch piorch
fi
