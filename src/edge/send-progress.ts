import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How far the responses of a connection have been sent. */
export class SendProgress {
  /** Bytes of the writes that are complete. */
  private written = 0;
  /** Bytes of the write under way that the kernel has not taken. */
  private queued = 0;
  private movedAt = performance.now();

  constructor(private readonly socket: Socket) {}

  /**
   * For how long bytes have waited to be sent and none was, in milliseconds, as far as earlier calls have seen.
   *
   * @param open the responses of the connection that are not complete
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

/** Not in Node's documentation; without it a client that reads one large write seems to read nothing. */
function queueSizeOf(socket: Socket): number {
  const { writeQueueSize = 0 }: { writeQueueSize?: number } = Object(Reflect.get(socket, '_handle'));
  return writeQueueSize;
}

/** Whether bytes wait in the socket, or in a response that waits for the socket to drain. */
function hasUnsentBytes(socket: Socket, open: Iterable<ServerResponse>): boolean {
  if (socket.writableLength > 0) return true;
  for (const response of open) if (response.socket === socket && response.writableNeedDrain) return true;
  return false;
}
