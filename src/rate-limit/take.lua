-- Counts a request in the minute and the day of an owner, or in neither if one of them is used up.
--
-- KEYS  the minute and the day of the owner
-- ARGV  the time in ms, or '' for the time of Redis; requests in the minute; its length in ms; requests in the day, or ''
--       for no limit; 'take', or 'look' to count nothing
-- Returns 1 if the request is admitted, the time, and both windows: the requests counted, and the end.

local time = redis.call('TIME')
local now = tonumber(ARGV[1]) or time[1] * 1000 + math.floor(time[2] / 1000)
local perMinute, windowMs, perDay = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local dayMs = 86400000

local function write(key, used, endsAt)
  redis.call('HSET', key, 'used', used, 'endsAt', endsAt)
  redis.call('PEXPIRE', key, endsAt - now)
  return endsAt
end

local function window(key, newEnd)
  local stored = redis.call('HMGET', key, 'used', 'endsAt')
  local used, endsAt = tonumber(stored[1]) or 0, tonumber(stored[2]) or 0
  if endsAt <= now then used, endsAt = 0, newEnd end
  -- A clock that was set back must not make a window longer than a new one, also if it is full.
  if endsAt > newEnd then endsAt = write(key, used, newEnd) end
  return used, endsAt
end

local used, endsAt = window(KEYS[1], now + windowMs)
local midnight = (math.floor(now / dayMs) + 1) * dayMs
local dayUsed, dayEndsAt = window(KEYS[2], midnight)
local isAdmitted = used < perMinute and (not perDay or dayUsed < perDay)
if isAdmitted and ARGV[5] == 'take' then
  used = used + 1
  write(KEYS[1], used, endsAt)
  if perDay then
    dayUsed = dayUsed + 1
    write(KEYS[2], dayUsed, dayEndsAt)
  end
end
return { isAdmitted and 1 or 0, now, used, endsAt, dayUsed, dayEndsAt }
