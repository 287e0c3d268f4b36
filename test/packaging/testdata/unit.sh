#!/bin/bash
# What an operator does with the unit. Each line of the report is a name and what came of it.
say() { printf '%s: %s\n' "$1" "$(echo "${*:2}" | tr '\n' ' ' | sed 's/ *$//')"; }
ready() { for _ in $(seq 300); do portico ready --config /etc/portico/portico.yaml 2>/dev/null && return; sleep 0.2; done; return 1; }
listed() { curl -sS 'http://127.0.0.1:8080/subscriptions?api-version=2022-12-01' | grep -c '"displayName":"Kept"'; }
systemctl start portico; say start $?
ready; say ready $?
say user "$(ps -o user= -C portico)"
curl -sS -o /dev/null -X PUT -H 'Content-Type: application/json' -d '{"tenantId":"00000000-0000-0000-0000-0000000000aa","displayName":"Kept","state":"Enabled"}' \
	http://127.0.0.1:8081/admin/subscriptions/00000000-0000-0000-0000-000000000001
say listed "$(listed)"
say mode "$(stat -c '%a %U' /var/lib/private/portico /var/lib/private/portico/portico.db | tr '\n' ' ')"
systemctl reload portico; say reload $?
systemctl restart portico; say restart $?
ready; say "listed after the restart" "$(listed)"
kill -9 "$(systemctl show -p MainPID --value portico)"
for _ in $(seq 100); do [[ $(systemctl show -p NRestarts --value portico) == 1 ]] && break; sleep 0.2; done
ready; say "listed after a kill" "$(listed)"
cp /etc/portico/portico.yaml /etc/portico/good; echo 'bad: [' >>/etc/portico/portico.yaml
systemctl reload portico 2>/dev/null; say "reload of a bad file" $?
say active "$(systemctl is-active portico)"
cp /etc/portico/good /etc/portico/portico.yaml
systemctl stop portico
say stopped "$(systemctl show -p Result -p ExecMainStatus --value portico)"
journalctl -u portico --no-pager -n 40 >/root/journal
