import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Measures how far the responses of a connection have been sent. */
export class SendProgress {
  /** Bytes of the completed writes. */
  private written = 0;
  /** Bytes of the current write that the kernel has not taken. */
  private queued = 0;
  private movedAt = performance.now();

  constructor(private readonly socket: Socket) {}

  /**
   * Returns for how long bytes have waited and none was sent, in milliseconds. It compares with the previous call, so
   * its precision is the interval of the calls.
   *
   * @param open the incomplete responses of the connection
   */
  stalledMs(open: Iterable<ServerResponse>): number {
    const now = performance.now();
    const written = this.socket.bytesWritten - this.socket.writableLength;
    const queued = queueSizeOf(this.socket);
    const hasMoved = written !== this.written || queued !== this.queued;
    this.written = written;
    this.queued = queued;
    if (hasMoved || !hasUnsentBytes(this.socket, open)) this.movedAt = now;
    return now - this.movedAt;
  }
}

/** Undocumented in Node. Without it a client that slowly reads one large write would seem to read nothing. */
function queueSizeOf(socket: Socket): number {
  const { writeQueueSize = 0 }: { writeQueueSize?: number } = Object(Reflect.get(socket, '_handle'));
  return writeQueueSize;
}

/** True if bytes wait in the socket, or in a response that waits for the socket's `drain`. */
function hasUnsentBytes(socket: Socket, open: Iterable<ServerResponse>): boolean {
  if (socket.writableLength > 0) return true;
  for (const response of open) if (response.socket === socket && response.writableNeedDrain) return true;
  return false;
}
