/** The limit of the hot page: plain Fastify sends the same bytes with as many headers, and checks and logs nothing. */
import { randomUUID } from 'node:crypto';
import fastify from 'fastify';
import { Client, types } from 'pg';

const INT8_OID = 20;

async function main(): Promise<void> {
  types.setTypeParser(INT8_OID, Number);
  const client = new Client({ connectionString: process.env['DATABASE_URL'] });
  await client.connect();
  const { rows } = await client.query(
    'SELECT id, name, category_id AS "categoryId", status FROM pets ORDER BY id LIMIT 20',
  );
  await client.end();
  const page = JSON.stringify(rows);
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Content-Type-Options': 'nosniff',
    Vary: 'Accept',
    'Cache-Control': 'private, no-cache',
    ETag: `"${'x'.repeat(27)}"`,
    Link: '</v1/pets?cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA>; rel="next"',
    'X-RateLimit-Limit': '1000000000',
    'X-RateLimit-Remaining': '999999999',
    'X-RateLimit-Reset': '1795219200',
    'RateLimit-Policy': '"minute";q=1000000000;w=60, "day";q=1000000000;w=86400',
    RateLimit: '"minute";r=999999999;t=60, "day";r=999999999;t=86400',
  };
  const app = fastify({ genReqId: () => randomUUID() });
  app.get('*', (request, reply) => reply.headers({ ...headers, 'X-Request-Id': request.id }).send(page));
  await app.listen({ port: Number(process.env['PORT']) });
}

void main();
