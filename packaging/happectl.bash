# shellcheck shell=bash
# Bash's completion of happectl's commands; other words are files. zsh reads it, too:
#   autoload -U bashcompinit && bashcompinit && source /usr/share/bash-completion/completions/happectl
_happectl() {
    local words=
    case $COMP_CWORD/${COMP_WORDS[1]} in
        1/*) words="check doctor events explain feedback hold keys profiles reload restore run setup status study undo" ;;
        2/feedback) words="faster save" ;;
        2/keys) words="learn set show" ;;
        2/profiles) words="export import list reset show" ;;
        2/run) words="facts fetch" ;;
        2/study) words="key" ;;
    esac
    # shellcheck disable=SC2207  # words without spaces, and zsh has no mapfile
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _happectl happectl
