import { KEYED, LIST, type ModuleOperations, ONE, type Rejection } from '../support/module-operations';

export const operations: ModuleOperations = {
  listPets: { route: 'get /pets', codes: LIST },
  createPet: { route: 'post /pets', codes: KEYED },
  getPet: { route: 'get /pets/{petId}', codes: { ...ONE, 404: ['pet_not_found'] }, isDeprecated: true },
};

export const rejections: readonly Rejection[] = [[404, 'pet_not_found', (app) => app.get('/v1/pets/9999')]];
