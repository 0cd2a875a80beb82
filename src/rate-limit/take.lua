-- Counts a request in the minute and the day of an owner, or in neither if one of them is used up.
--
-- KEYS  the minute and the day of the owner
-- ARGV  JSON: `now`, the time in ms, absent for the time of Redis; `perMinute` requests in the minute; `windowMs`, its
--       length; `perDay` requests in the day, absent for no limit; `isCounted`, false to count nothing; `minute` and
--       `day`, the windows as the instance knows them: the requests counted (`used`), and the end (`endsAt`)
-- Returns JSON: `isAdmitted`, the time `now`, and both windows after the request.

local asked = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local now = asked.now or time[1] * 1000 + math.floor(time[2] / 1000)
local perDay = asked.perDay
local dayMs = 86400000

local function write(key, counter)
  redis.call('HSET', key, 'used', counter.used, 'endsAt', counter.endsAt)
  redis.call('PEXPIRE', key, counter.endsAt - now)
end

local function window(key, newEnd, known)
  local stored = redis.pcall('HMGET', key, 'used', 'endsAt')
  if stored.err then
    -- The value has another type: one such key must not end the sharing. Any other error is raised below.
    redis.call('DEL', key)
    stored = redis.call('HMGET', key, 'used', 'endsAt')
  end
  local counter = { used = tonumber(stored[1]) or 0, endsAt = tonumber(stored[2]) or 0 }
  if counter.endsAt <= now then counter = { used = 0, endsAt = newEnd } end
  -- Redis lost its data, or was unavailable while the instance counted.
  local isBehind = known.used > counter.used and known.endsAt > now
  if isBehind then counter = known end
  -- Also if the request is rejected: the instance may end, and nothing else has what it knows.
  -- A clock that was set back must not make a window longer than a new one, also if it is full.
  if isBehind or counter.endsAt > newEnd then
    counter.endsAt = math.min(counter.endsAt, newEnd)
    write(key, counter)
  end
  return counter
end

local minute = window(KEYS[1], now + asked.windowMs, asked.minute)
local midnight = (math.floor(now / dayMs) + 1) * dayMs
local day = window(KEYS[2], midnight, asked.day)
local isAdmitted = minute.used < asked.perMinute and (not perDay or day.used < perDay)
if isAdmitted and asked.isCounted then
  minute.used = minute.used + 1
  write(KEYS[1], minute)
  if perDay then
    day.used = day.used + 1
    write(KEYS[2], day)
  end
end
return cjson.encode({ isAdmitted = isAdmitted, now = now, minute = minute, day = day })
