import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** The state of one connection. Node shows only which connections are idle. */
export interface Connection extends Linked {
  readonly socket: Socket;
  /** The requests without a complete response, with their responses. */
  readonly open: Map<IncomingMessage, ServerResponse>;
  readonly progress: SendProgress;
  /** The time when it became busy or last completed a response; monotonic clock, milliseconds. */
  busySince: number;
  /** The last request. */
  latest?: IncomingMessage;
  /** True if the service handles no further request on it. */
  isEnding: boolean;
  /** True if its client was too slow: the close does not wait for it again. */
  isSlow: boolean;
  /** Called once, when `open` becomes empty. */
  onAllResponded?: () => void;
}

export function newConnection(socket: Socket): Connection {
  return {
    socket,
    previous: undefined,
    next: undefined,
    list: undefined,
    open: new Map(),
    progress: new SendProgress(socket),
    busySince: 0,
    isEnding: false,
    isSlow: false,
  };
}

/** Closes the queued responses, which hold files and timers. Node closes only the response that is being written. */
export function closeQueued({ open }: Connection): void {
  for (const response of open.values()) {
    if (response.socket !== null) continue;
    response.destroy();
    response.emit('close');
  }
}

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

/** A member of a `LinkedList`. */
export interface Linked {
  previous: Linked | undefined;
  next: Linked | undefined;
  /** The list that contains it. */
  list: LinkedList<Linked> | undefined;
}

/**
 * A list of members in the order of their last addition. A member is in at most one list. Each request moves its
 * connection, so the members are linked to each other: a Set would allocate a new table every few requests.
 */
export class LinkedList<Member extends Linked> {
  private head: Linked | undefined;
  private tail: Linked | undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** The member with the oldest addition. */
  get first(): Member | undefined {
    // Only `add` links members, and it accepts only this type.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return this.head as Member | undefined;
  }

  /** Adds a member at the end, or moves it there. */
  add(member: Member): void {
    this.remove(member);
    member.list = this;
    member.previous = this.tail;
    if (this.tail) this.tail.next = member;
    else this.head = member;
    this.tail = member;
    this.count += 1;
  }

  /** Removes a member; does nothing if it is in another list or in none. */
  remove(member: Member): void {
    if (member.list !== this) return;
    const { previous, next } = member;
    if (previous) previous.next = next;
    else this.head = next;
    if (next) next.previous = previous;
    else this.tail = previous;
    member.previous = undefined;
    member.next = undefined;
    member.list = undefined;
    this.count -= 1;
  }
}
