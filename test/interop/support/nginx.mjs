import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from './find-program.mjs';
import { freePort } from './free-port.mjs';

const MAX_START_MS = 60_000;
const POLL_MS = 50;
/** Debian installs it here, where only the path of root looks. */
const DEBIAN = '/usr/sbin';

/** Finds nginx by NGINX_PATH or on the path. */
export const findNginx = () =>
  findProgram({ variable: 'NGINX_PATH', names: ['nginx'], folders: [DEBIAN], install: 'nginx-light' });

/**
 * Starts nginx as a cache in front of the service. Its store is shared, but each key has entries of its own. Therefore it
 * ignores `private` and `no-cache`, and takes a response as current for one second, its shortest time.
 */
export async function startNginx(program, target) {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-nginx-'));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration(folder, port, target));
  const args = ['-p', folder, '-c', file, '-e', 'stderr'];
  await promisify(execFile)(program, [...args, '-t']);
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'close');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const url = `http://127.0.0.1:${port}`;
    await listening(url);
    return { url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function configuration(folder, port, target) {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr;
${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  proxy_cache_path ${folder}/cache keys_zone=pets:1m;
  server {
    listen 127.0.0.1:${port};
    location = /nginx { return 204; }
    location / {
      proxy_pass ${target};
      proxy_http_version 1.1;
      proxy_cache pets;
      proxy_cache_key "$http_authorization $request_uri";
      proxy_ignore_headers Cache-Control;
      proxy_cache_valid 200 1s;
      proxy_cache_revalidate on;
      add_header X-Cache-Status $upstream_cache_status always;
    }
  }
}
`;
}

async function listening(url) {
  for (const start = performance.now(); ;) {
    const isThere = await fetch(`${url}/nginx`).then(
      () => true,
      () => false,
    );
    if (isThere) return;
    if (performance.now() - start > MAX_START_MS) throw new Error('nginx did not start');
    await new Promise((resolve) => {
      setTimeout(resolve, POLL_MS);
    });
  }
}
