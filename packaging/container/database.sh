#!/bin/sh
# Runs PostgreSQL on a Unix socket alone, and makes the study server's database at the first start. The server's user is known
# by who it is at the socket.
set -eu
data=/var/lib/postgresql/data
bin=$(echo /usr/lib/postgresql/*/bin)
if [ ! -s $data/PG_VERSION ]; then
    "$bin/initdb" --pgdata=$data --encoding=UTF8 --locale=C.UTF-8 --auth=peer >/dev/null
    "$bin/pg_ctl" --pgdata=$data --wait --silent --options="-c listen_addresses=''" start
    createuser happe-server
    createdb --owner=happe-server happe
    "$bin/pg_ctl" --pgdata=$data --wait --silent stop
fi
echo 'postgresql+psycopg://happe-server@/happe?host=/run/postgresql' >/run/postgresql/url
exec "$bin/postgres" -D $data -c listen_addresses=
