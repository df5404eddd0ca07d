# bash completion of @PROGRAM@

@FUNCTION@() {
    local command='@PROGRAM@' kind=word words= options= i
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [[ $current == '=' ]]; then
        current=
    elif [[ $previous == '=' ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$command ${COMP_WORDS[i]}" in
@WALK@        esac
    done
    case "$command $previous" in
@VALUES@        *)
            case $command in
@WORDS@            esac
            [[ $current == -* ]] && kind=word words=
            [[ $current == -* || -z $words ]] || options=
            ;;
    esac
    case $kind in
        file) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
        directory) compopt -o filenames && mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
        word) mapfile -t COMPREPLY < <(compgen -W "$words $options" -- "$current") ;;
    esac
}

complete -F @FUNCTION@ @PROGRAM@
