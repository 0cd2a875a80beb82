import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Starts a server that rejects every session with this SQLSTATE, as PostgreSQL does. */
export async function rejectingServer(code: string): Promise<{ url: string; close: () => void }> {
  const fields = `SFATAL\0VFATAL\0C${code}\0Mrefused\0\0`;
  const response = Buffer.alloc(5 + fields.length);
  response.write('E');
  response.writeInt32BE(4 + fields.length, 1);
  response.write(fields, 5, 'latin1');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `postgresql://someone:secret@127.0.0.1:${port}/shop`, close: () => server.close() };
}
