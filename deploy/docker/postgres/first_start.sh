#!/usr/bin/env bash
# Runs once, when the first of several servers has made the database: lets the others copy and follow it, and lets each
# commit wait until one of them has it.
set -euo pipefail

names=
for server in $POSTGRES_SERVERS; do names="$names${names:+, }\"$server\""; done

# `alter system`, not an option of the server: it counts from the next start on, when others can connect.
psql -v ON_ERROR_STOP=1 -v password="$REPLICATION_PASSWORD" -v names="ANY 1 ($names)" \
  -U "$POSTGRES_USER" -d "$POSTGRES_DB" <<'SQL'
create role replicator with replication login password :'password';
alter system set synchronous_standby_names = :'names';
alter system set wal_keep_size = '2GB';
SQL
echo "host replication replicator all scram-sha-256" >>"$PGDATA/pg_hba.conf"
