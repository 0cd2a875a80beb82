import { readFileSync, statSync } from 'node:fs';

const MAX_BYTES = 65_536;

/** Returns the variable that names the file with the value of a secret, as Docker and Kubernetes provide it. */
export function fileVariableOf(variable: string): string {
  return `${variable}_FILE`;
}

/**
 * Reads a secret: the one line of a file. White space around it is ignored.
 *
 * @param variable names the file; for the message, which continues "NAME …" and never contains the secret
 * @throws Error
 */
export function readSecretFile(variable: string, path: string): string {
  let text: string;
  try {
    text = readSmallFile(path).trim();
  } catch {
    throw new Error(
      `cannot be read: ${variable} must name a file of at most 64 KiB that this user may read, not "${path}"`,
    );
  }
  if (text === '') throw new Error(`is missing: the file of ${variable} is empty`);
  if (/[\r\n]/.test(text)) throw new Error(`must be one line: the file of ${variable} has several`);
  return text;
}

/** A pipe could delay the start, and a stop signal, for ever. A large file could exceed the memory limit. */
function readSmallFile(path: string): string {
  const stats = statSync(path);
  if (!stats.isFile() || stats.size > MAX_BYTES) throw new Error('no small file');
  return readFileSync(path, 'utf8');
}
