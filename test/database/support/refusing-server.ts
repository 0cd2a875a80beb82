import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Something on a port that greets every client as PostgreSQL does when it refuses the session with this code. */
export async function refusingServer(code: string): Promise<{ url: string; close: () => void }> {
  const fields = `SFATAL\0VFATAL\0C${code}\0Mrefused\0\0`;
  const answer = Buffer.alloc(5 + fields.length);
  answer.write('E');
  answer.writeInt32BE(4 + fields.length, 1);
  answer.write(fields, 5, 'latin1');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `postgresql://someone:secret@127.0.0.1:${port}/shop`, close: () => server.close() };
}
