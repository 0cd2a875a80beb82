import { reasonOf } from './explain-fetch';
import { UserError } from '../../platform/errors/user-error';

const MEBIBYTE = 1_048_576;
/** Limit of the decoded body; the largest page of this API is far smaller. */
const MAX_MIB = 4;

/**
 * Reads the text of a body, in chunks and up to the limit: the deployment can be any server. At the limit the connection
 * is closed, so that an endless body, or one that decompresses to gigabytes, does no harm.
 *
 * @throws UserError if the body is incomplete, too slow, too large, or not compressed as its headers say
 */
export async function readBody(request: string, response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // Leaving the loop cancels the stream.
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > MAX_MIB * MEBIBYTE) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw new UserError(
      `${request} is answered ${response.status}, but the body cannot be read to its end (${reasonOf(error)}).`,
    );
  }
  if (bytes > MAX_MIB * MEBIBYTE) {
    throw new UserError(
      `${request} is answered ${response.status} with a body of more than ${MAX_MIB} MiB: no response of this API is that large.`,
    );
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
