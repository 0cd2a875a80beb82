import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { JSON_TYPE } from '../errors/error-reply';
import { entityTagOf } from './entity-tag';
import { encodeCursor, type Filters, type Page, type PageQuery, type PageResponse } from './page';
import { serializeJson } from './print-json';

/** Sets headers that link to other resources. Their base is the configured URL, never the Host header. */
@Injectable()
export class Links {
  private readonly baseUrl: string;

  constructor(@Inject(CONFIG) config: Config) {
    this.baseUrl = config.publicBaseUrl;
  }

  /** Sets `Location` (RFC 9110, 10.2.2) of a resource that was just created under the path. */
  created<T extends { readonly id: bigint }>(reply: FastifyReply, path: string, resource: T): T {
    reply.header('Location', `${this.baseUrl}${path}/${resource.id}`);
    return resource;
  }

  /**
   * Sets `Link` (RFC 8288): `first` on every page but the first, `next` on every page but the last.
   *
   * @returns the body: the page's items as JSON
   */
  page(reply: FastifyReply, path: string, query: PageQuery, page: Page<unknown>): string {
    page.response ??= this.responseOf(reply, path, query, page);
    const { body, link, tag } = page.response;
    if (link !== undefined) reply.header('Link', link);
    reply.type(JSON_TYPE).header('ETag', tag);
    return body;
  }

  private responseOf(reply: FastifyReply, path: string, query: PageQuery, page: Page<unknown>): PageResponse {
    const body = serializeJson(reply, page.items);
    return { body, link: this.linkOf(path, query, page), tag: entityTagOf(body) };
  }

  private linkOf(path: string, query: PageQuery, { next }: Page<unknown>): string | undefined {
    const first = `${this.baseUrl}${path}?${search({ limit: String(query.limit), ...query.filters() })}`;
    const links = [];
    if (query.cursor !== undefined) links.push(`<${first}>; rel="first"`);
    // A cursor needs no percent-encoding.
    if (next !== undefined)
      links.push(`<${first}&cursor=${encodeCursor(listName(path, query), next)}>; rel="next"`);
    return links.length > 0 ? links.join(', ') : undefined;
  }
}

/** Names a list by its path and filters. A cursor is valid for one list only. */
export function listName(path: string, query: PageQuery): string {
  return `${path}?${search(query.filters())}`;
}

/** Encodes like URLSearchParams, except for spaces, in a quarter of the time. */
function search(parameters: Filters): string {
  let text = '';
  for (const name of Object.keys(parameters)) {
    const value = parameters[name];
    if (typeof value === 'string') text += `${text === '' ? '' : '&'}${name}=${encodeURIComponent(value)}`;
    else if (value)
      for (const each of value) text += `${text === '' ? '' : '&'}${name}=${encodeURIComponent(each)}`;
  }
  return text;
}
