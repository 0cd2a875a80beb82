import { Controller, Get, Query } from '@nestjs/common';
import { Operation } from '../api/operation/operation.decorator';
import { PageQuery } from '../api/lists/page';
import { PetCountsRepository } from './pet-counts.repository';
import { Category, Inventory, InventoryQuery } from './pets.dto';
import { petScopes } from './pets.scopes';

@Controller()
export class PetCountsController {
  constructor(private readonly counts: PetCountsRepository) {}

  @Get('store/inventory')
  @Operation({
    id: 'getInventory',
    summary: 'Count the animals',
    description:
      'Counts the animals of each status, or with `categoryId` those of each of these categories, ascending. Every change that was acknowledged before the request counts.',
    scope: petScopes.read,
    orList: Category,
    returns: [200, Inventory, 'The counts; with `categoryId` a list of them.'],
  })
  getInventory(@Query() { categoryId }: InventoryQuery) {
    return this.counts.inventory(categoryId);
  }

  @Get('categories')
  @Operation({
    id: 'listCategories',
    summary: 'List the categories of animals',
    description: 'Lists each category that has animals, with their counts, in pages. The ids ascend.',
    scope: petScopes.read,
    returns: [200, [Category], 'A page of categories. `Link` has the next page.'],
  })
  listCategories(@Query() query: PageQuery) {
    return this.counts.listCategories(query);
  }
}
