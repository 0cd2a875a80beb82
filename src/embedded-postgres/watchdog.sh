# Runs the server, and stops it when the Node.js process ends for any reason, SIGKILL included: then the kernel closes
# the pipe at the standard input. Arguments: the command of the server.

# Only the pipe stops the server, not a signal to its group.
trap '' HUP INT TERM
# A command in the background has no standard input, hence descriptor 3. Only the reader keeps it.
exec 3<&0
"$@" </dev/null 3<&- & server=$!
(
  read -r line <&3
  asked=0
  # A fast shutdown, repeated because the server ignores it until it has set its handlers; after 30 s an immediate one.
  while kill -INT "$server"; do
    sleep 1
    asked=$((asked + 1))
    [ "$asked" -lt 30 ] || kill -QUIT "$server"
  done
) >/dev/null 2>&1 & reader=$!
exec 3<&- </dev/null
wait "$server"
kill -KILL "$reader"
