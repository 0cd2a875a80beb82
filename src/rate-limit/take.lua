-- Decides on one charge in one atomic step, by the rules of counters.ts and bans.ts; or reads what it would decide on.
--
-- KEYS     the owner's minute, the owner's day, and the history of the key. The owner is their hash tag, so that in a
--          cluster all three are on one node.
-- ARGV[1]  the charge, ARGV[2] the rules. Both and the result are JSON, see redis.script.ts.
--
-- The instance reports what it knows of the windows, because Redis may have been unavailable or have lost its data.
-- `own` is the number of requests that the instance has admitted locally in the window. Redis stores this number with
-- the window and adds only the increase, so each request is counted once, even if it is reported repeatedly.

local charge = cjson.decode(ARGV[1])
local rules = cjson.decode(ARGV[2])

local function time()
  local seconds, microseconds = unpack(redis.call('TIME'))
  return tonumber(seconds) * 1000 + math.floor(tonumber(microseconds) / 1000)
end

local now = charge.now or time()

-- Reads a key and deletes one of another type. An error for it would end sharing for every owner.
local function read(command, key, ...)
  local stored = redis.pcall(command, key, ...)
  if type(stored) ~= 'table' or not stored.err then return stored end
  if not string.find(stored.err, 'WRONGTYPE', 1, true) then error(stored.err) end
  redis.call('DEL', key)
  return redis.call(command, key, ...)
end

-- Returns a stored number, or 0 if it is damaged. cjson writes 14 digits, so a larger number would change.
local function whole(value)
  local number = tonumber(value)
  local isWhole = number and number >= 0 and number < 1e14 and number == math.floor(number)
  return isWhole and number or 0
end

-- Returns the current window. If the stored and the known window overlap, the one that ends first is right: it began
-- with the first request.
local function windowOf(key, known, newEnd)
  local stored = read('HMGET', key, 'used', 'endsAt', 'own:' .. charge.instance)
  local used, endsAt, own = whole(stored[1]), whole(stored[2]), whole(stored[3])
  local window = { key = key, used = used, endsAt = endsAt, own = own, isStale = endsAt > 0 and endsAt <= now }
  if endsAt <= now then
    window.used, window.endsAt, window.own = 0, newEnd, 0
  end
  if known.endsAt > now then
    window.used = math.max(window.used + math.max(0, known.own - window.own), known.used)
    window.own = math.max(window.own, known.own)
    window.endsAt = math.min(window.endsAt, known.endsAt)
  end
  -- A clock that was set back must not make a window longer than a new one.
  window.endsAt = math.min(window.endsAt, newEnd)
  window.isChanged = window.used ~= used or window.endsAt ~= endsAt
  return window
end

local function keepWindow(window)
  if window.used == 0 or not window.isChanged then return end
  -- Normally the key has expired. DEL is a write, and a full Redis rejects a script at its first write only.
  if window.isStale then redis.call('DEL', window.key) end
  redis.call('HSET', window.key, 'used', window.used, 'endsAt', window.endsAt)
  if window.own > 0 then redis.call('HSET', window.key, 'own:' .. charge.instance, window.own) end
  redis.call('PEXPIRE', window.key, math.ceil(window.endsAt - now))
end

local function count(window)
  window.used = window.used + 1
  window.isChanged = true
  keepWindow(window)
end

local function offenderWith(bannedAt, bannedUntil)
  return { firstRefusedAt = 0, askedToWaitUntil = 0, strikes = {}, bannedAt = bannedAt, bannedUntil = bannedUntil }
end

-- Stores the history until it no longer affects a decision.
local function keepOffender(offender)
  local lastStrike = offender.strikes[#offender.strikes] or 0
  local leftMs = math.ceil(math.max(
    offender.askedToWaitUntil,
    lastStrike + rules.strikePeriodMs,
    offender.bannedUntil,
    offender.bannedAt + rules.repeatPeriodMs
  ) - now)
  if leftMs > 0 then
    redis.call('SET', KEYS[3], cjson.encode(offender), 'PX', leftMs)
  else
    redis.call('DEL', KEYS[3])
  end
end

-- Returns the stored history of the key, or nil if it is missing or damaged.
local function storedOffender()
  local isJson, known = pcall(cjson.decode, read('GET', KEYS[3]))
  if not isJson or type(known) ~= 'table' or type(known.strikes) ~= 'table' then return nil end
  local offender = offenderWith(whole(known.bannedAt), whole(known.bannedUntil))
  offender.firstRefusedAt, offender.askedToWaitUntil = whole(known.firstRefusedAt), whole(known.askedToWaitUntil)
  for _, at in ipairs(known.strikes) do table.insert(offender.strikes, whole(at)) end
  return offender
end

-- Moves the beginning of a ban to now, with its length kept, if the clock was set back.
local function clampBan(ban)
  if ban.bannedAt <= now then return false end
  ban.bannedAt, ban.bannedUntil = now, now + ban.bannedUntil - ban.bannedAt
  return true
end

-- Returns the history of the key, or nil. A lifted ban is removed; a ban that only the instance knows is added.
local function offenderOf(key)
  local offender = storedOffender()
  if offender and clampBan(offender) then keepOffender(offender) end
  if offender and offender.bannedAt > 0 and offender.bannedAt <= key.unbannedAt then
    redis.call('DEL', KEYS[3])
    offender = nil
  end
  local told = offenderWith(key.bannedAt, key.bannedUntil)
  clampBan(told)
  if told.bannedAt > math.max(offender and offender.bannedAt or 0, key.unbannedAt) then
    offender = told
    keepOffender(offender)
  end
  return offender
end

-- Returns the strikes that count.
local function recentStrikes(offender)
  local strikes = {}
  for _, at in ipairs(offender.strikes) do
    if at > now - rules.strikePeriodMs and at <= now then table.insert(strikes, at) end
  end
  return strikes
end

-- Counts a strike. Returns true if it bans the key.
local function strike(offender)
  local strikes = recentStrikes(offender)
  table.insert(strikes, now)
  offender.strikes = strikes
  if #strikes < rules.strikes then return false end
  local isRepeat = offender.bannedAt > 0 and now - offender.bannedAt <= rules.repeatPeriodMs
  offender.bannedAt = now
  offender.bannedUntil = now + rules.banMs * (isRepeat and rules.repeatFactor or 1)
  offender.firstRefusedAt, offender.askedToWaitUntil, offender.strikes = 0, offender.bannedUntil, {}
  return true
end

-- Records a 429. Returns true if it bans the key.
local function reject(offender, resetAt)
  -- If the clock was set back, this is the first 429 again, and the last strike is in the future.
  local isFirst = now >= offender.askedToWaitUntil or now < offender.firstRefusedAt
  local lastStrike = offender.strikes[#offender.strikes] or 0
  local isSpaced = math.abs(now - lastStrike) >= rules.strikeSpacingMs
  local isStrike = not isFirst and now > offender.firstRefusedAt + rules.graceMs and isSpaced
  if isFirst then offender.firstRefusedAt = now end
  offender.askedToWaitUntil = resetAt
  local beganBan = isStrike and strike(offender)
  keepOffender(offender)
  return beganBan
end

local minute = windowOf(KEYS[1], charge.minute, now + (charge.windowMs or rules.minuteMs))
local day = charge.perDay and windowOf(KEYS[2], charge.day, (math.floor(now / rules.dayMs) + 1) * rules.dayMs)
local offender = charge.key and offenderOf(charge.key)
local verdict, beganBan = 'admitted', false

local isMinuteFull = minute.used >= charge.perMinute
local isDayFull = day and day.used >= charge.perDay

if charge.isReading then
  keepWindow(minute)
  if day then keepWindow(day) end
elseif offender and offender.bannedUntil > now then
  verdict = 'banned'
elseif isMinuteFull or isDayFull then
  verdict = 'limited'
  keepWindow(minute)
  if day then keepWindow(day) end
  if charge.key then
    local isMinuteLast = not isDayFull or (isMinuteFull and minute.endsAt > day.endsAt)
    offender = offender or offenderWith(0, 0)
    beganBan = reject(offender, isMinuteLast and minute.endsAt or day.endsAt)
    if beganBan then verdict = 'banned' end
  end
else
  count(minute)
  if day then count(day) end
  -- An admitted request ends the wait.
  if offender and offender.askedToWaitUntil > 0 then
    offender.firstRefusedAt, offender.askedToWaitUntil = 0, 0
    keepOffender(offender)
  end
end

return cjson.encode({
  verdict = verdict,
  now = now,
  minute = { used = minute.used, endsAt = minute.endsAt },
  day = day and { used = day.used, endsAt = day.endsAt } or nil,
  strikes = offender and #recentStrikes(offender) or 0,
  bannedAt = offender and offender.bannedAt or 0,
  bannedUntil = offender and offender.bannedUntil or 0,
  beganBan = beganBan,
})
