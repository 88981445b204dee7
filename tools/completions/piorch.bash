# bash completion for piorch                                    -*- shell-script -*-
# shellcheck shell=bash
# The program itself says what fits; this passes it on.

_piorch() {
  local current=${COMP_WORDS[COMP_CWORD]} line at
  [ "$current" != = ] || current=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files)
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")
        ;;
      :directories)
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current")
        ;;
      :program)
        for ((at = 1; at < COMP_CWORD; ++at)); do
          [ "${COMP_WORDS[at]}" != -- ] || break
        done
        if declare -F _command_offset >/dev/null; then
          _command_offset $((at + 1))
        elif ((at + 1 == COMP_CWORD)); then
          mapfile -t COMPREPLY < <(compgen -c -- "$current")
        else
          compopt -o filenames 2>/dev/null
          mapfile -t COMPREPLY < <(compgen -f -- "$current")
        fi
        ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <(command piorch completions --words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _piorch piorch
