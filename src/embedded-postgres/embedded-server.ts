import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, closeSync, constants, fstatSync, mkdtempSync, openSync } from 'node:fs';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { UserError } from '../config/user-error';
import { APP_ROLE, clusterOf, createCluster, prepareFolder } from './data-folder';
import type { EmbeddedOptions, PlacedOptions } from './options';
import { chooseServerUser, findPrograms, type Programs, reachablePath, reasonOf } from './programs';

const PORT = 5432;
const SOCKET = `.s.PGSQL.${PORT}`;
/** The address of a Unix socket has 104 bytes on macOS and 108 on Linux. */
const MAX_SOCKET_PATH_BYTES = 103;
/** The server of a killed service is ready for less than 1 s, and needs up to 35 s to stop. */
const READY_LIMIT_MS = 1_000;
const BUSY_LIMIT_MS = 45_000;
const POLL_MS = 20;
/** Time for the processes of an earlier server to end, and for another start to listen. */
const RETRY_PAUSE_MS = 1_000;
const MAX_ATTEMPTS = 20;
/** A lock file is empty between the two steps in which another start makes it. */
const IS_OCCUPIED = /lock file ".*" (already exists|is empty)|pre-existing shared memory block/;

/** The script is passed as text, because the server's user may not be able to read the file. */
const WATCHDOG = readFileSync(join(__dirname, 'watchdog.sh'), 'utf8');

export interface EmbeddedServer {
  /** Absolute path of the data folder. */
  readonly directory: string;
  /** Returns a URL for node-postgres, and libpq from 17. Default database: `postgres`. */
  readonly url: (database?: string) => string;
  /** Resolves when the server has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Stops the server. Close all connections first. Safe to call twice. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts the server of dataDir; the first start creates its files. The server stops when this process ends for any
 * reason, SIGKILL included. A command shares the server of a running service, and then changes nothing in the folder.
 *
 * @throws UserError for every error that the operator can fix
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const given = resolve(options.dataDir);
  const user = chooseServerUser(options.allowNobody);
  const directory = options.canMove === true ? reachablePath(given, user) : given;
  try {
    return await start({ ...options, directory, user });
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new UserError(
      `The folder ${directory} cannot be used (${error.message}): correct that, or set DATA_DIR to another folder.`,
    );
  }
}

async function start(options: PlacedOptions): Promise<EmbeddedServer> {
  const { directory, user } = options;
  if (!statSync(clusterOf(directory), { throwIfNoEntry: false })) options.onCreate?.(directory);
  let log = '';
  let stalePid: string | undefined;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const running = await runningServer(options);
    if (running) return running;
    prepareFolder(directory, user);
    const programs = await findPrograms(options);
    await createCluster(options, programs);
    const server = await launch(options, programs, stalePid);
    if (typeof server !== 'string') return server;
    log = server;
    if (!IS_OCCUPIED.test(log)) break;
    // If nothing listens after the pause, no server has this pid.
    stalePid = readServer(directory)?.pid;
    await sleep(RETRY_PAUSE_MS);
  }
  throw new UserError(
    `PostgreSQL did not start (${reasonOf(log)}): read ${directory}/postgres.log, or set DATABASE_URL to another server.`,
  );
}

/**
 * Waits for a server that is starting, and for the end of that of a command or of a killed service. Returns that of a
 * running service to a command. The server of a command would disconnect every other client when the command ends.
 */
async function runningServer({ directory, purpose }: PlacedOptions): Promise<EmbeddedServer | undefined> {
  const startedAt = Date.now();
  for (let server; (server = await findServer(directory)) !== undefined; await sleep(POLL_MS)) {
    const isServing = server.isReady && server.purpose === 'service';
    if (isServing && purpose === 'command') {
      const ended = new Promise<void>(() => undefined);
      return { ...accessOf(directory, server.socketFolder), ended, stop: () => Promise.resolve() };
    }
    if (Date.now() - startedAt < (isServing ? READY_LIMIT_MS : BUSY_LIMIT_MS)) continue;
    throw new UserError(
      `The data folder ${directory} is in use by process ${server.owner}: stop that process, or set DATA_DIR to another folder.`,
    );
  }
  return undefined;
}

/** Finds the server that listens for a data folder, in any process. */
async function findServer(directory: string) {
  const server = readServer(directory);
  if (server === undefined) return undefined;
  const socket = join(server.socketFolder, SOCKET);
  const isListening = await new Promise<boolean>((resolved) => {
    const probe = connect(socket, () => probe.destroy()).on('error', () => undefined);
    probe.once('close', (hasFailed) => resolved(!hasFailed));
  });
  // After a crash another user may have taken the name of a folder in /tmp.
  const owner = statSync(socket, { throwIfNoEntry: false })?.uid;
  return isListening && owner === statSync(clusterOf(directory)).uid ? server : undefined;
}

/** Reads what PostgreSQL has written about the last server of a data folder. */
function readServer(directory: string) {
  try {
    const file = readFileSync(join(clusterOf(directory), 'postmaster.pid'), 'utf8');
    const command = readFileSync(join(clusterOf(directory), 'postmaster.opts'), 'utf8');
    // Lines: pid, data folder, start in seconds, port, socket folder, listen address, shared memory, status.
    const [pid = '', , , , socketFolder = '', , , status = ''] = file.split('\n');
    const isReady = status.trim() === 'ready';
    // The server of version 1.1 does not name the process that started it.
    const [, purpose = 'service', owner = pid] = /cluster_name=(service|command) (\d+)/.exec(command) ?? [];
    return { file, pid, socketFolder, isReady, purpose, owner: isReady ? owner : pid };
  } catch {
    return undefined;
  }
}

/** Starts the server and waits until it accepts connections. Returns its log if it has ended. */
async function launch(options: PlacedOptions, { bin, context }: Programs, stalePid: string | undefined) {
  const { directory, user } = options;
  const before = readServer(directory)?.file;
  const isShort = Buffer.byteLength(join(directory, SOCKET)) <= MAX_SOCKET_PATH_BYTES;
  // A comma would separate folders.
  const isSuitable = isShort && !directory.includes(',');
  const socketFolder = isSuitable ? directory : mkdtempSync('/tmp/animal-store-');
  if (!isSuitable && user !== undefined) chownSync(socketFolder, user.uid, user.gid);
  const server = [join(bin, 'postgres'), ...argumentsOf(options, socketFolder)];
  // PostgreSQL does not start if a process has the pid in postmaster.pid, unless it is its grandparent's, which pg_ctl
  // sets in this variable. It still checks the shared memory of the earlier server.
  const env = { ...context.env, ...(stalePid !== undefined && { PG_GRANDPARENT_PID: stalePid }) };
  // Follows no link: root may open the log in a folder of the server's user.
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const logFile = join(directory, 'postgres.log');
  const log = openSync(logFile, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  const logStart = fstatSync(log).size;
  const shell = spawn('/bin/sh', ['-c', WATCHDOG, 'sh', ...server], {
    ...context,
    env,
    // In a session of its own the server gets no Ctrl-C of the terminal.
    detached: true,
    stdio: ['pipe', log, log],
  });
  closeSync(log);
  shell.unref();
  // A broken pipe means that the server has ended.
  shell.stdin?.on('error', () => undefined);
  if (!isSuitable) shell.once('exit', () => rmSync(socketFolder, { recursive: true, force: true }));
  const ended = Promise.allSettled([once(shell, 'exit')]).then(() => undefined);
  const stop = (): Promise<void> => {
    shell.ref();
    shell.stdin?.end();
    return ended;
  };
  while (shell.exitCode === null && shell.signalCode === null) {
    const found = readServer(directory);
    const isOwn = found?.owner === String(process.pid) && found.file !== before;
    if (isOwn) return { ...accessOf(directory, socketFolder), ended, stop };
    await Promise.race([ended, sleep(POLL_MS)]);
  }
  return readFileSync(logFile).toString('utf8', logStart);
}

function argumentsOf(options: PlacedOptions, socketFolder: string): string[] {
  const { directory, purpose = 'service', durable = true, maxConnections = 60 } = options;
  const settings = {
    listen_addresses: '',
    unix_socket_directories: socketFolder,
    unix_socket_permissions: '0700',
    port: PORT,
    max_connections: maxConnections,
    timezone: 'UTC',
    // Other processes read this in postmaster.opts.
    cluster_name: `${purpose} ${process.pid}`,
    ...(durable
      ? {}
      : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', autovacuum: 'off' }),
  };
  const pairs = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ['-D', clusterOf(directory), ...pairs];
}

/** For each of them node-postgres would otherwise read a variable of the user's shell, such as PGOPTIONS. */
const OWN_PARAMETERS =
  'sslmode=disable&sslnegotiation=postgres&replication=false&application_name=animal-store&options=-cDateStyle%3DISO';

function accessOf(directory: string, socketFolder: string) {
  const query = `host=${encodeURIComponent(socketFolder)}&${OWN_PARAMETERS}`;
  const server = `postgresql://${APP_ROLE}@localhost:${PORT}`;
  const url = (database = 'postgres') => `${server}/${encodeURIComponent(database)}?${query}`;
  return { directory, url };
}
