import type { Socket } from 'node:net';

/** What a client may still send after its last answer: how much, and with which pauses. */
interface Patience {
  readonly bytes: number;
  readonly pauseMs: number;
}

const USUAL: Patience = { bytes: 64 * 1_024 * 1_024, pauseMs: 500 };
/** For one that was too slow: as long as its answer may take to arrive. */
const WITH_SLOW: Patience = { bytes: 0, pauseMs: 100 };
const LIMIT_MS = 5_000;

/**
 * Ends a connection whose client may still be sending. Bytes that meet a closed socket make TCP reset the connection,
 * and the reset destroys an answer that the client has not read yet. So what still comes is read and thrown away, in
 * bounds, until the client has ended its side (RFC 9112, 9.6).
 *
 * @param last what is still to be written
 */
export function lingeringClose(socket: Socket, last: string, { isSlow }: { readonly isSlow: boolean }): void {
  const patience = isSlow ? WITH_SLOW : USUAL;
  let bytes = 0;
  const deadline = setTimeout(() => socket.destroy(), LIMIT_MS);
  socket.once('close', () => clearTimeout(deadline));
  socket.setTimeout(patience.pauseMs, () => socket.destroy());
  const discard = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > patience.bytes) socket.destroy();
  };
  // Takes the place of the HTTP parser, which sees nothing more; but only the parser's own listener starts the flow
  // again where it has stopped it for a body that nobody reads.
  socket.once('resume', () => socket.removeAllListeners('data').on('data', discard));
  socket.end(last);
  socket.pause().resume();
}
