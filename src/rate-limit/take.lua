-- Counts a request in the minute and the day of an owner, or in neither if one of them is used up.
--
-- KEYS  the minute and the day of the owner
-- ARGV  JSON: `now`, the time in ms, absent for the time of Redis; `perMinute` requests in the minute; `windowMs`, its
--       length; `perDay` requests in the day, absent for no limit; `action`, 'take', or 'look' to count nothing; `minute`
--       and `day`, the windows as the instance knows them: the requests counted (`used`), and the end (`endsAt`)
-- Returns 1 if the request is admitted, the time, and both windows: the requests counted, and the end.

local asked = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local now = asked.now or time[1] * 1000 + math.floor(time[2] / 1000)
local perDay = asked.perDay
local dayMs = 86400000

local function write(key, used, endsAt)
  redis.call('HSET', key, 'used', used, 'endsAt', endsAt)
  redis.call('PEXPIRE', key, endsAt - now)
  return endsAt
end

local function window(key, newEnd, known)
  local stored = redis.pcall('HMGET', key, 'used', 'endsAt')
  if stored.err then
    -- The value has another type: one such key must not end the sharing. Any other error is raised below.
    redis.call('DEL', key)
    stored = redis.call('HMGET', key, 'used', 'endsAt')
  end
  local used, endsAt = tonumber(stored[1]) or 0, tonumber(stored[2]) or 0
  if endsAt <= now then used, endsAt = 0, newEnd end
  -- Redis lost its data, or was unavailable while the instance counted.
  local isBehind = known.used > used and known.endsAt > now
  if isBehind then used, endsAt = known.used, known.endsAt end
  -- Also if the request is rejected: the instance may end, and nothing else has what it knows.
  -- A clock that was set back must not make a window longer than a new one, also if it is full.
  if isBehind or endsAt > newEnd then endsAt = write(key, used, math.min(endsAt, newEnd)) end
  return used, endsAt
end

local used, endsAt = window(KEYS[1], now + asked.windowMs, asked.minute)
local midnight = (math.floor(now / dayMs) + 1) * dayMs
local dayUsed, dayEndsAt = window(KEYS[2], midnight, asked.day)
local isAdmitted = used < asked.perMinute and (not perDay or dayUsed < perDay)
if isAdmitted and asked.action == 'take' then
  used = used + 1
  write(KEYS[1], used, endsAt)
  if perDay then
    dayUsed = dayUsed + 1
    write(KEYS[2], dayUsed, dayEndsAt)
  end
end
return { isAdmitted and 1 or 0, now, used, endsAt, dayUsed, dayEndsAt }
