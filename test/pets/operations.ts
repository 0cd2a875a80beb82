import { aNewPet } from '../support/factories';
import {
  ALWAYS,
  BODY,
  CONDITIONAL,
  KEYED,
  LIST,
  type ModuleOperations,
  ONE,
  type Rejection,
} from '../support/module-operations';

export const operations: ModuleOperations = {
  listPets: { route: 'get /pets', codes: LIST, scopes: ['pets:read'] },
  createPet: { route: 'post /pets', codes: KEYED, scopes: ['pets:write'] },
  getPet: {
    route: 'get /pets/{petId}',
    codes: { ...ONE, 404: ['pet_not_found'] },
    scopes: ['pets:read'],
    isDeprecated: true,
  },
  updatePet: {
    route: 'patch /pets/{petId}',
    codes: { ...BODY, ...CONDITIONAL, 200: [], 404: ['pet_not_found'], 409: ['pet_has_open_order'] },
    scopes: ['pets:manage'],
    isExtension: true,
  },
  deletePet: {
    route: 'delete /pets/{petId}',
    codes: {
      ...ALWAYS,
      ...CONDITIONAL,
      204: [],
      400: ['malformed_request'],
      404: ['pet_not_found'],
      409: ['pet_has_open_order', 'pet_in_use'],
    },
    scopes: ['pets:manage'],
    isExtension: true,
  },
};

export const rejections: readonly Rejection[] = [
  [404, 'pet_not_found', (app) => app.get('/v1/pets/9999')],
  [
    409,
    'pet_has_open_order',
    async (app) => {
      const { id: petId } = (await app.post('/v1/pets', aNewPet())).json;
      await app.post('/v1/store/orders', { petId });
      return app.send('DELETE', `/v1/pets/${petId}`);
    },
  ],
  [
    409,
    'pet_in_use',
    async (app) => {
      const { id } = (await app.post('/v1/pets', aNewPet())).json;
      await app.database.query(`CREATE TABLE visits_${id} AS SELECT ${id}::bigint AS pet_id`);
      // The commit fails, not the DELETE.
      await app.database.query(
        `ALTER TABLE visits_${id} ADD FOREIGN KEY (pet_id) REFERENCES pets DEFERRABLE INITIALLY DEFERRED`,
      );
      return app.send('DELETE', `/v1/pets/${id}`);
    },
  ],
];
