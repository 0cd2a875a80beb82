import { encodeCursor } from '../src/platform/http/page';

/** One request of a load. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly key: string | undefined;
  readonly body?: object;
}

/** A page of the list, independent of the paging parameters of a server. */
export interface ListPlace {
  readonly limit?: number;
  readonly status?: string | undefined;
  /** The id after which the page begins. */
  readonly after?: number | undefined;
}

/** Returns the path and query of a page in the form that a server expects. */
export type ListAddress = (place: ListPlace) => string;

export const serviceList: ListAddress = ({ limit, status, after }) => {
  const filter = status === undefined ? '' : `status=${status}`;
  const cursor = after === undefined ? undefined : encodeCursor(`/pets?${filter}`, BigInt(after));
  return address({ limit, status, cursor });
};

export const handwrittenList: ListAddress = ({ limit, status, after }) => {
  const cursor = after === undefined ? undefined : Buffer.from(String(after)).toString('base64url');
  return address({ limit, status, cursor });
};

export const textbookList: ListAddress = ({ limit, status, after }) => address({ limit, status, after });

function address(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const search = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  return search === '' ? '/v1/pets' : `/v1/pets?${search}`;
}
