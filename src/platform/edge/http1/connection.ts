import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Linked } from './linked-list';
import { SendProgress } from './send-progress';

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
