import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Config } from '../config/config';
import { CONFIG } from '../config/config.token';
import { JSON_TYPE } from '../errors/media-types';
import { entityTagOf, serializeJson } from '../entity-tags/representation';
import { encodeCursor, listName, type Page, type PageResponse } from './page';

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
  page(reply: FastifyReply, page: Page<unknown>): string {
    const { config } = reply.routeOptions;
    const known = page.response?.route === config ? page.response : undefined;
    const { body, link, tag } = (page.response = known ?? this.responseOf(reply, page));
    if (link !== undefined) reply.header('Link', link);
    if (tag !== undefined) reply.header('ETag', tag);
    reply.type(JSON_TYPE);
    return body;
  }

  private responseOf(reply: FastifyReply, page: Page<unknown>): PageResponse {
    const body = serializeJson(reply, page.items);
    const { config } = reply.routeOptions;
    const tag = config.entityTag ? entityTagOf(body) : undefined;
    return { route: config, body, link: this.linkOf(page), tag };
  }

  private linkOf({ request, next }: Page<unknown>): string | undefined {
    const { path, filters, limit, hasCursor } = request;
    if (!hasCursor && next === undefined) return undefined;
    const first = `${this.baseUrl}${path}?limit=${limit}${filters && `&${filters}`}`;
    const links = [];
    if (hasCursor) links.push(`<${first}>; rel="first"`);
    // A cursor needs no percent-encoding.
    if (next !== undefined)
      links.push(`<${first}&cursor=${encodeCursor(listName(path, filters), next)}>; rel="next"`);
    return links.join(', ');
  }
}
