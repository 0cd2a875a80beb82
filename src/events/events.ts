import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import type { EntityManager } from 'typeorm';
import { EventTypeRegistry } from './event-type-registry';
import { EventsRepository } from './events.repository';

/** Writes events of extensions, which the feed and webhooks have as those of animals and orders. */
@Injectable()
export class Events {
  private readonly printers = new Map<string, (data: object) => string>();

  constructor(
    private readonly types: EventTypeRegistry,
    private readonly events: EventsRepository,
    private readonly host: HttpAdapterHost<FastifyAdapter>,
  ) {}

  /**
   * Writes an event that commits with the transaction, or not at all.
   *
   * @param type one of `events` of the extension
   * @param data an object of its class, printed as in a response: its declared members, and null for Infinity
   * @param accountId only keys of this account see it
   */
  async add(type: string, data: object, accountId: bigint, transaction: EntityManager): Promise<void> {
    const { name } = this.types.ofExtension(type).data;
    const print = this.printers.get(name) ?? this.printerOf(name);
    this.printers.set(name, print);
    await this.events.add(type, print(data), accountId, transaction);
  }

  /** Compiles the serializer that a response with the class has. */
  private printerOf(name: string): (data: object) => string {
    const { serializerCompiler } = this.host.httpAdapter.getInstance();
    if (!serializerCompiler) throw new Error('Events can be written when the service is ready.');
    return serializerCompiler({ schema: { $ref: `${name}#` }, method: 'GET', url: '/events' });
  }
}
