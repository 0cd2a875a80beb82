import { reasonOf } from './explain-fetch';
import { VerifyError } from './verify.error';

const MEBIBYTE = 1_048_576;
/** Decoded. The largest page of this API is a small part of it. */
const LARGEST_MIB = 4;

/**
 * The text of a body. The deployment may be anything, so it is read in chunks: one without an end, or one that unpacks
 * to gigabytes, is given up at the limit and its connection closed.
 *
 * @throws VerifyError where the body is cut short, too slow, too large, or not packed as it says
 */
export async function readBody(request: string, response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // Leaving the loop early cancels the stream.
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > LARGEST_MIB * MEBIBYTE) break;
      chunks.push(chunk);
    }
  } catch (error) {
    throw new VerifyError(
      `${request} is answered ${response.status}, but the body cannot be read to its end (${reasonOf(error)}).`,
    );
  }
  if (bytes > LARGEST_MIB * MEBIBYTE) {
    throw new VerifyError(
      `${request} is answered ${response.status} with a body of more than ${LARGEST_MIB} MiB: no answer of this API is that large.`,
    );
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
