-- Sends the requests of a file in turn. Each line has a method, a path, a key (or -) and an optional body.
-- Arguments: the file, a random seed, and the requests per second (0: each connection sends without a pause).
-- There is no `response` function, because it would slow wrk down. wrk itself counts responses of 400 and above.
local ffi = require('ffi')
ffi.cdef('typedef struct { long seconds; long microseconds; } Moment; int gettimeofday(Moment *, void *);')

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
  local rate = tonumber(args[3])
  if rate > 0 then delay = delayFor(rate) end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

-- Returns wrk's `delay` function: the milliseconds that a free connection waits before its next request.
-- The requests are due at equal intervals. wrk's timer has whole milliseconds, so it sends those of one together.
function delayFor(rate)
  local moment = ffi.new('Moment')
  local interval = 1000 / rate
  local due = 0
  return function()
    ffi.C.gettimeofday(moment, nil)
    local now = tonumber(moment.seconds) * 1000 + tonumber(moment.microseconds) / 1000
    -- If every connection was busy, the missed requests are not sent: wrk adds their latencies (stats_correct).
    due = math.max(due + interval, now)
    return math.floor(due) - math.floor(now)
  end
end

function done(summary, latency)
  local failed = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"microseconds":%d,"p50Us":%d,"p99Us":%d,"errors":%d,"broken":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), failed.status,
    failed.connect + failed.read + failed.write + failed.timeout))
end
