export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

export interface EmbeddedOptions {
  readonly dataDir: string;
  /** True if root may use another folder because its user cannot reach this one. Default false. */
  readonly canMove?: boolean;
  /** True if the user `nobody` may run the server in place of root; other programs run as `nobody` too. Default true. */
  readonly allowNobody?: boolean;
  /** False in tests only: fsync and autovacuum are off, and the role of a new folder may create databases. Default true. */
  readonly durable?: boolean;
  /** Each takes memory of the server. Default 60. */
  readonly maxConnections?: number;
  /** Called before the files of a new database are created, which takes seconds; may throw. */
  readonly onCreate?: (directory: string) => void;
  /** A command shares the server of a running service; every process waits for the end of a command's. Default service. */
  readonly purpose?: 'service' | 'command';
}

/** The options of a start, with the folder and the user that it uses. */
export interface PlacedOptions extends EmbeddedOptions {
  /** Absolute path of the data folder. */
  readonly directory: string;
  /** Undefined for the user of this process. */
  readonly user: ServerUser | undefined;
}
