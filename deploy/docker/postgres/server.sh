#!/usr/bin/env bash
# Starts one of several PostgreSQL servers: the first one makes the database, the others copy and follow whoever takes
# writes. See docs/operations/deployments.md.
#
# POSTGRES_NAME: this server; POSTGRES_SERVERS: all of them; REPLICATION_PASSWORD: of the role that first_start.sh makes.
set -euo pipefail

base=$(dirname "$PGDATA")
# Servers and programs that connect to others find the password here, and no list of processes shows it.
export PGPASSFILE="$base/passwords"
(umask 077 && echo "*:*:*:replicator:$REPLICATION_PASSWORD" >"$PGPASSFILE")

# Prints the other server that takes writes.
leader() {
  local other
  for other in $POSTGRES_SERVERS; do
    [ "$other" = "$POSTGRES_NAME" ] && continue
    if [ "$(PGCONNECT_TIMEOUT=3 psql -h "$other" -U replicator -d postgres -Atc \
      'select not pg_is_in_recovery()' 2>/dev/null)" = t ]; then
      echo "$other"
      return
    fi
  done
  return 1
}

connection() {
  echo "host=$1 user=replicator application_name=$POSTGRES_NAME"
}

options=()
if [ -s "$PGDATA/PG_VERSION" ]; then
  if found=$(leader); then
    if [ ! -e "$PGDATA/standby.signal" ]; then
      echo "$found takes writes, and this server has the data of an earlier primary: empty its volume" >&2
      # It is started again and again; nothing changes in the meantime.
      sleep "${REFUSED_SECONDS:-10}"
      exit 1
    fi
    options=(-c "primary_conninfo=$(connection "$found")")
  fi
elif found=$(leader) || [ "$POSTGRES_NAME" != "${POSTGRES_SERVERS%% *}" ]; then
  until found=$(leader); do sleep 1; done
  # A copy that broke off leaves nothing at the final place.
  rm -rf "$base/copy"
  pg_basebackup -d "$(connection "$found")" -D "$base/copy" -R -X stream -c fast
  rm -rf "$PGDATA"
  mv "$base/copy" "$PGDATA"
fi

exec docker-entrypoint.sh postgres -c "cluster_name=$POSTGRES_NAME" "${options[@]}" "$@"
