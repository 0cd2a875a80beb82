import type { StoreOptions } from '../../src/app/build';
import { runAnimalStoreCommand } from '../../src/cli/program';
import { NO_SETTINGS } from './no-settings';

/** The result of a command. */
export interface CommandRun {
  /** The exit status. */
  readonly status: number;
  /** Standard output. `all` includes standard error. */
  readonly out: string;
  readonly all: string;
  /** Parses standard output as JSON. */
  readonly json: () => any;
}

/** Runs one command in this process, with these environment variables. A new process would take a second. */
export async function runCli(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  options: StoreOptions = {},
): Promise<CommandRun> {
  let out = '';
  let all = '';
  const before = { ...process.env };
  const spies = [
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      out += String(text);
      all += String(text);
      return true;
    }),
    jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      all += String(text);
      return true;
    }),
  ];
  Object.assign(process.env, NO_SETTINGS, environment);
  try {
    const status = await runAnimalStoreCommand(args, options);
    return { status, out, all, json: () => JSON.parse(out) };
  } finally {
    for (const name of Object.keys({ ...NO_SETTINGS, ...environment })) delete process.env[name];
    Object.assign(process.env, before);
    for (const spy of spies) spy.mockRestore();
  }
}
