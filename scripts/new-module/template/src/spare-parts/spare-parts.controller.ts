import { Body, Controller, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Operation } from '../platform/api-docs/operation.decorator';
import { IdPipe } from '../platform/http/id.pipe';
import { Links } from '../platform/http/links';
import { PageQuery } from '../platform/http/page-query';
import { IdempotentWork } from '../platform/idempotency';
import { NewSparePart, SparePart } from './spare-parts.dto';
import { sparePartErrors } from './spare-parts.errors';
import { sparePartScopes } from './spare-parts.scopes';
import { SPARE_PARTS_PATH, SparePartsService } from './spare-parts.service';

@ApiTags('spare parts')
@Controller({ path: SPARE_PARTS_PATH, version: '1' })
export class SparePartsController {
  constructor(
    private readonly service: SparePartsService,
    private readonly links: Links,
    private readonly idempotent: IdempotentWork,
  ) {}

  @Get()
  @Operation({
    id: 'listSpareParts',
    summary: 'List spare parts',
    description: 'Lists the spare parts of the store in pages, by ascending `id`.',
    extension: true,
    scope: sparePartScopes.read,
    returns: [200, [SparePart], 'A page of spare parts by ascending `id`. `Link` has the next page.'],
  })
  async listSpareParts(@Query() query: PageQuery, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.links.page(reply, await this.service.list(query));
  }

  @Post()
  @Operation({
    id: 'createSparePart',
    summary: 'Add a spare part',
    description: 'Adds a spare part to the store. The service assigns its `id`.',
    extension: true,
    scope: sparePartScopes.write,
    idempotent: true,
    returns: [201, SparePart, 'The created spare part. `Location` is its URL.'],
    rejects: [sparePartErrors.spare_part_exists],
  })
  createSparePart(@Body() body: NewSparePart, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.idempotent.run(reply, async (transaction) =>
      this.links.created(reply, SPARE_PARTS_PATH, await this.service.create(body, transaction)),
    );
  }

  @Get(':sparePartId')
  @Operation({
    id: 'getSparePart',
    summary: 'Get a spare part',
    description: 'Returns one spare part.',
    extension: true,
    scope: sparePartScopes.read,
    pathIds: { sparePartId: 'Identifier of the spare part.' },
    returns: [200, SparePart, 'The spare part.'],
    rejects: [sparePartErrors.spare_part_not_found],
  })
  getSparePart(@Param('sparePartId', new IdPipe(sparePartErrors.spare_part_not_found)) id: bigint) {
    return this.service.get(id);
  }
}
