interface ScriptInput {
  readonly keys: string[];
  readonly arguments: string[];
}

/** A connection to one server, or to the nodes of a cluster. */
export interface RedisClient {
  evalSha(sha: string, input: ScriptInput): Promise<unknown>;
  eval(script: string, input: ScriptInput): Promise<unknown>;
  on(event: string, listener: (error: Error) => void): unknown;
}
