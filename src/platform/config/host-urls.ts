/** The part in front of the hosts, the hosts, the path, and the parameters. */
const PARTS = /^(\w+:\/\/(?:[^/?]*@)?)([^/?]*)([^?]*)(.*)$/s;

const TARGET = /[?&]target_session_attrs=([^&]*)/;

/** Splits a URL of libpq's form, `//a:5432,b:5433/` or `?host=a,b&port=5432,5433`, into one for each host. */
export function hostUrls(url: string): readonly string[] {
  const [, start = '', authority = '', path = '', query = ''] = PARTS.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  const hosts = parameters.get('host')?.split(',') ?? [];
  if (hosts.length < 2) return authority.split(',').map((host) => start + host + path + query);
  const ports = parameters.get('port')?.split(',') ?? [];
  return hosts.map((host, at) => {
    parameters.set('host', host);
    // A single port is for every host.
    if (ports.length > 0) parameters.set('port', String(ports[ports.length === 1 ? 0 : at]));
    return `${start}${authority}${path}?${parameters.toString()}`;
  });
}

/** Returns the value of `target_session_attrs`. Default: several hosts have one primary. */
export function targetOf(url: string): string {
  return TARGET.exec(url)?.[1] ?? (hostUrls(url).length > 1 ? 'read-write' : 'any');
}
