# bash completion for lull

_lull()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD - 1]}
    local words=''
    if ((COMP_CWORD == 1)); then
        words='explain fetch keys messages mock push send status help --help --version'
    elif [[ ${COMP_WORDS[1]} == help ]]; then
        words='explain fetch keys messages mock push send status'
    elif [[ ${COMP_WORDS[1]} == explain ]]; then
        case $previous in
        --policy) words='delivery urgent bulk client webhook' ;;
        --kind) words='push webhook request' ;;
        --method) words='GET HEAD OPTIONS PUT DELETE TRACE POST PATCH' ;;
        --error)
            words='dns dns_not_found refused connect_timeout tls tls_handshake reset timeout
                protocol refused_stream goaway malformed_url forbidden cancelled'
            ;;
        --header)
            words='Retry-After: Retry-After-Ms: RateLimit-Reset: X-RateLimit-Reset:
                X-WNS-CONTINUE-AFTER: Date: WWW-Authenticate: Content-Type:'
            ;;
        --status) words='200 201 400 401 403 404 408 410 413 429 500 502 503 504' ;;
        --body | --endpoint | --idempotency-key | --attempt | --ttl | --age | --previous-delay | \
            --incoming-attempt | --now | --seed) ;;
        *)
            words='--status --header --body --error --queued --policy --kind --endpoint --method
                --idempotency-key --repeatable --attempt --ttl --age --previous-delay
                --sender-throttled --auth-retried --key-paused --incoming-attempt --circuit-open
                --budget-exhausted --json --now --seed --help'
            ;;
        esac
    elif [[ ${COMP_WORDS[1]} == fetch ]]; then
        case $previous in
        --policy) words='client delivery urgent bulk webhook' ;;
        --budget) words='20% tokens none' ;;
        -X | --request) words='GET HEAD OPTIONS PUT DELETE TRACE POST PATCH' ;;
        -o | --output | -T | --upload-file | --cacert | --cert | --key)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        -H | --header | -d | --data | --data-raw | --data-binary | -u | --user | -A | --user-agent | \
            -m | --max-time | --connect-timeout | -x | --proxy | --resolve | --retries | --deadline | \
            --incoming-attempt | --parallel) ;;
        *)
            words='--request --header --data --data-raw --data-binary --upload-file --user
                --user-agent --location --compressed --max-time --connect-timeout --cacert --cert
                --key --insecure --proxy --resolve --http1.1 --http2 --http2-prior-knowledge --policy
                --retries --deadline --budget --idempotency-key --repeatable --hedge
                --incoming-attempt --traceparent --parallel --output --include --head --fail --silent
                --show-error --explain --json --help'
            ;;
        esac
    elif [[ ${COMP_WORDS[1]} == keys ]] && ((COMP_CWORD == 2)); then
        words='new show import export check --help'
    elif [[ ${COMP_WORDS[1]} == keys ]]; then
        case $previous in
        --key | --out | --to)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        --sub) words='mailto: https://' ;;
        --format) words='file jwk pem pair' ;;
        --topic | --ttl) ;;
        *)
            case ${COMP_WORDS[2]} in
            new) words='--sub --out --force --help' ;;
            show) words='--key --public --json --help' ;;
            import)
                if [[ $current != -* ]]; then
                    mapfile -t COMPREPLY < <(compgen -f -- "$current")
                    return
                fi
                words='--sub --out --force --help'
                ;;
            export) words='--key --format --out --force --help' ;;
            check) words='--key --to --topic --ttl --allow-private --no-network --json --help' ;;
            esac
            ;;
        esac
    elif [[ ${COMP_WORDS[1]} == send ]]; then
        case $previous in
        --to | --key | --cacert | --receipt | --recall)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        --policy) words='delivery urgent bulk client webhook' ;;
        --urgency) words='very-low low normal high' ;;
        --pad) words='random' ;;
        --body | --ttl | --topic | --retries | --deadline | -m | --max-time | --connect-timeout) ;;
        *)
            words='--to --body --ttl --urgency --topic --pad --receipt --recall --key --policy
                --retries --deadline --max-time --connect-timeout --cacert --allow-private --dry-run
                --json --explain --quiet --help'
            ;;
        esac
    elif [[ ${COMP_WORDS[1]} == push ]]; then
        case $previous in
        --to | --batch | --token-file | --cacert)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        --policy) words='delivery urgent bulk client webhook' ;;
        --urgency) words='very-low low normal high' ;;
        --padding) words='random' ;;
        --method) words='POST PUT PATCH' ;;
        --idempotency-key) words='auto' ;;
        --server) words='http:// https:// unix:/' ;;
        --webhook | --body | --body-json | --ttl | --topic | --at | --delay | --correlation-id | \
            --key | --header | --content-type | --sign | --chunk | -m | --max-time | --retries) ;;
        *)
            words='--to --webhook --body --body-json --ttl --urgency --topic --policy --at --delay
                --correlation-id --key --padding --method --header --content-type --sign --batch
                --chunk --wait --idempotency-key --server --token-file --cacert --max-time
                --retries --json --quiet --help'
            ;;
        esac
    elif [[ ${COMP_WORDS[1]} == messages ]] && ((COMP_CWORD == 2)); then
        words='list show cancel --help'
    elif [[ ${COMP_WORDS[1]} == messages ]]; then
        case $previous in
        --token-file | --cacert)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        --state) words='waiting leased dead delivered replaced' ;;
        --service) words='fcm mozilla apple wns' ;;
        --server) words='http:// https:// unix:/' ;;
        --limit | -m | --max-time | --retries) ;;
        *)
            words='--server --token-file --cacert --max-time --retries --json --quiet --help'
            [[ ${COMP_WORDS[2]} != list ]] || words="--state --service --limit --all $words"
            ;;
        esac
    elif [[ ${COMP_WORDS[1]} == status ]]; then
        case $previous in
        --token-file | --cacert)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        --server) words='http:// https:// unix:/' ;;
        --count | -m | --max-time | --retries) ;;
        *)
            words='--watch --count --server --token-file --cacert --max-time --retries --json
                --help'
            ;;
        esac
    elif [[ ${COMP_WORDS[1]} == mock ]]; then
        case $previous in
        --cert | --key | --log | --subscription)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            return
            ;;
        --listen) words='127.0.0.1:0' ;;
        --plan | --seed) ;;
        *)
            words='--listen --cert --key --plan --seed --log --subscription --no-vapid --quiet
                --help'
            ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _lull lull
