# /etc/patroni/create-database.sh: Patroni runs it once, on the first node, with the URL of the superuser.
exec psql "$1" --set ON_ERROR_STOP=1 --set password="$ANIMAL_STORE_PASSWORD" <<'SQL'
CREATE ROLE animal_store LOGIN PASSWORD :'password';
CREATE DATABASE animal_store OWNER animal_store ENCODING 'UTF8' TEMPLATE template0;
SQL
