// autocannon calls this in its worker for each connection, so that each begins at a random request.
module.exports = (client) => {
  const { requests } = client.opts;
  const at = Math.floor(Math.random() * requests.length);
  client.setRequests([...requests.slice(at), ...requests.slice(0, at)]);
};
