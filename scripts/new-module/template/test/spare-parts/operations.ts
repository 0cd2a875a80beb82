import { KEYED, LIST, type ModuleOperations, ONE, type Rejection } from '../support/module-operations';

export const operations: ModuleOperations = {
  listSpareParts: {
    route: 'get /spare-parts',
    codes: LIST,
    scopes: ['spare-parts:read'],
    isExtension: true,
  },
  createSparePart: {
    route: 'post /spare-parts',
    codes: { ...KEYED, 409: ['spare_part_exists', ...KEYED[409]] },
    scopes: ['spare-parts:write'],
    isExtension: true,
  },
  getSparePart: {
    route: 'get /spare-parts/{sparePartId}',
    codes: { ...ONE, 404: ['spare_part_not_found'] },
    scopes: ['spare-parts:read'],
    isExtension: true,
  },
};

export const rejections: readonly Rejection[] = [
  [404, 'spare_part_not_found', (app) => app.get('/v1/spare-parts/9999')],
  [
    409,
    'spare_part_exists',
    async (app) => {
      await app.post('/v1/spare-parts', { name: 'Twice' });
      return app.post('/v1/spare-parts', { name: 'Twice' });
    },
  ],
];
