import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

/** A server's private key and its certificate. */
export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** A certificate authority in a folder of its own. */
export interface Authority {
  readonly folder: string;
  /** The file with its certificate, for `sslrootcert`. */
  readonly file: string;
  /** Makes a certificate for an IP address, valid until a year. */
  issue(address: string, year: number): Certificate;
  remove(): void;
}

const CONFIG = (folder: string, address: string) => `
[ca]
default_ca = own
[own]
database = ${folder}/index.txt
new_certs_dir = ${folder}
rand_serial = yes
default_md = sha256
policy = policy
x509_extensions = extensions
unique_subject = no
[policy]
commonName = supplied
[extensions]
subjectAltName = IP:${address}
`;

export function createAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'animal-store-tls-'));
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=test'];
  openssl('req', '-x509', ...newKey, '-keyout', at('ca.key'), '-out', at('ca.crt'), '-days', '2');
  writeFileSync(at('index.txt'), '');
  return {
    folder,
    file: at('ca.crt'),
    issue: (address, year) => {
      writeFileSync(at('ca.cnf'), CONFIG(folder, address));
      openssl('req', ...newKey, '-keyout', at('server.key'), '-out', at('server.csr'));
      const ca = [
        '-config',
        at('ca.cnf'),
        '-cert',
        at('ca.crt'),
        '-keyfile',
        at('ca.key'),
        '-batch',
        '-notext',
      ];
      const dates = ['-startdate', '20200101000000Z', '-enddate', `${year}0101000000Z`];
      openssl('ca', ...ca, ...dates, '-in', at('server.csr'), '-out', at('server.crt'));
      return { key: readFileSync(at('server.key')), cert: readFileSync(at('server.crt')) };
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}
