import { readFileSync } from 'node:fs';

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
    text = readFileSync(path, 'utf8').trim();
  } catch {
    throw new Error(`cannot be read: ${variable} must name a file that this user may read, not "${path}"`);
  }
  if (text === '') throw new Error(`is missing: the file of ${variable} is empty`);
  if (/[\r\n]/.test(text)) throw new Error(`must be one line: the file of ${variable} has several`);
  return text;
}
