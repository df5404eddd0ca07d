#!/bin/sh
# Runs PostgreSQL on a Unix socket only. At the first start it makes the study server's database; if it is interrupted, it
# begins again. PostgreSQL recognises the server's user at the socket.
set -eu
data=/var/lib/postgresql/data
bin=$(echo /usr/lib/postgresql/*/bin)
if [ ! -e $data ]; then
    rm -rf $data.new
    "$bin/initdb" --pgdata=$data.new --encoding=UTF8 --locale=C.UTF-8 --auth=peer >/dev/null
    # No other container sees this socket.
    "$bin/pg_ctl" --pgdata=$data.new --wait --silent --options="-c listen_addresses='' -k /tmp" start
    createuser --host=/tmp happe-server
    createdb --host=/tmp --owner=happe-server happe
    "$bin/pg_ctl" --pgdata=$data.new --wait --silent stop
    mv $data.new $data
fi
echo 'postgresql+psycopg://happe-server@/happe?host=/run/postgresql' >/run/postgresql/url
exec "$bin/postgres" -D $data -c listen_addresses=
