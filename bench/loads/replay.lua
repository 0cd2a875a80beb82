-- Sends the requests of a file in turn. Each line has a method, a path, a key (or -) and an optional body.
-- There is no `response` function, because it would slow wrk down. wrk itself counts responses of 400 and above.
local requests = {}
local at = 0

function init(args)
  for line in io.lines(args[1]) do
    local method, path, key, body = line:match('^(%S+) (%S+) (%S+) ?(.*)$')
    local headers = {}
    if key ~= '-' then headers['Authorization'] = 'Bearer ' .. key end
    if body == '' then body = nil else headers['Content-Type'] = 'application/json' end
    requests[#requests + 1] = wrk.format(method, path, headers, body)
  end
  -- Begins at a random request, so that successive runs do not send the same requests.
  math.randomseed(tonumber(args[2]))
  at = math.random(0, #requests - 1)
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local failed = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"p50Us":%d,"p99Us":%d,"errors":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), failed.status,
    failed.connect + failed.read + failed.write + failed.timeout))
end
