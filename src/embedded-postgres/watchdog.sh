# Runs the server and stops it when the Node.js process ends for any reason, SIGKILL included.
#
# Arguments: seconds until an immediate shutdown, then the command of the server.
# Standard input: a pipe of the Node.js process. It closes the pipe to stop the server; the kernel closes it when the
# process ends.

# The time limit of a fast shutdown; the other arguments are the command.
limit=$1
shift

# Ignores signals for the whole group of the terminal or the systemd unit: only the pipe stops the server.
trap '' HUP INT TERM

# Keeps the pipe as descriptor 3, because a command in the background has no standard input.
exec 3<&0

# Starts the server in the background, without the pipe.
"$@" </dev/null 3<&- & server=$!

# Starts the reader of the pipe in the background, without output: kill prints an error when the server has ended.
(
  # Returns when the pipe is closed.
  read -r line <&3
  asked=0
  # SIGINT requests a fast shutdown. It is repeated every second until the server has ended, because the server ignores
  # it until it has set its own handlers.
  while kill -INT "$server"; do
    sleep 1
    asked=$((asked + 1))
    # SIGQUIT requests an immediate shutdown, after the time limit.
    [ "$asked" -lt "$limit" ] || kill -QUIT "$server"
  done
) >/dev/null 2>&1 & reader=$!

# Closes the pipe here, so that only the reader holds it.
exec 3<&- </dev/null

# Waits for the server and keeps its exit status.
wait "$server"; code=$?

# Discards the message of the shell about the killed reader, which would be written to the server's log.
exec >/dev/null 2>&1

# Ends the reader, which still waits if the server ended first.
kill -KILL "$reader"; wait "$reader"

# Ends with the status of the server.
exit "$code"
