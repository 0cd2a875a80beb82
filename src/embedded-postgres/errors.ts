/** An error that the operator can fix. The message is one sentence that says how. */
export class EmbeddedServerError extends Error {
  override readonly name = 'EmbeddedServerError';
}

/** Returns the errno name of a failed system call (`EACCES`), or undefined for any other error. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Converts a failed system call on `folder` to an EmbeddedServerError. Returns any other error unchanged. */
export function explainFolder(error: unknown, folder: string): unknown {
  const errno = errnoOf(error);
  if (errno === undefined || error instanceof EmbeddedServerError) return error;
  return new EmbeddedServerError(sentences[errno]?.(folder) ?? unusable(folder, errno), { cause: error });
}

export function diskFull(folder: string): string {
  return `The disk that holds ${folder} is full: free some space, or set DATA_DIR to a folder on another disk.`;
}

function notWritable(folder: string): string {
  return `The folder ${folder} cannot be read and written by this user: change its owner or mode, or set DATA_DIR to another folder.`;
}

function notAFolder(folder: string): string {
  return `${folder} is not a folder: set DATA_DIR to a folder.`;
}

function unusable(folder: string, errno: string): string {
  return `The folder ${folder} cannot be used (${errno}): set DATA_DIR to another folder.`;
}

const sentences: Readonly<Record<string, (folder: string) => string>> = {
  EACCES: notWritable,
  EPERM: notWritable,
  EROFS: notWritable,
  ENOSPC: diskFull,
  EDQUOT: diskFull,
  ENOTDIR: notAFolder,
  EEXIST: notAFolder,
};
