#!lua flags=allow-oom
-- Rebuilds the indexes of a torn shard (see tally.lua) from its records, one bounded step a call. The records decide:
-- `things` what is open and who holds it, `closing` what is being closed. Where it stands is in meta `rebuild`, so that
-- any number of instances may call; scripts that raise the tally are refused until it is done. Quiet time begins anew with
-- each step.
-- Repeat: does the next step. A step that was torn itself comes with another run of the server: all is done again.
-- meta: rebuild  PHASE CURSOR RUN        rest  where the phase `rest` stands; its scripts keep it
-- Phases, in order:
--   closing  a closing record of an epoch that is still open never came about: it goes; the others are in claims or letters
--   claims letters due   entries without a record go
--   things   every open thing is filed under its first living lease or under its time; every lease has a deadline
--   count    the number of unfinished epochs of each thing is counted anew
--   rest     what else the kind of thing keeps is the caller's: it calls with finish = 1 when that is done
-- KEYS  meta things due deadlines lengths closing claims letters
-- ARGV  finish grace-ms
-- REPLY status phase
-- Status: SOUND: nothing is torn; MORE: call again; REST: the caller rebuilds what is his and finishes; DONE.
--@include ../lease/time.lua
--@include ../lease/quiet.lua
--@include living.lua
--@include unfinished.lua
--@include tally.lua
local meta, things, due, deadlines, lengths, closing, claims, letters = unpack(KEYS)
local finish, grace_ms = ARGV[1] == '1', ARGV[2]
local COUNT = 256
local NEXT = {closing = 'claims', claims = 'letters', letters = 'due', due = 'things', things = 'count', count = 'rest'}
local now = clock()
local noted = redis.call('HMGET', things, 'T', 'U')
if not is_torn(noted[1], noted[2]) then
  return {'SOUND', ''}
end
local state = redis.call('HMGET', meta, 'rebuild', 'grace')
local phase, cursor, of_run = string.match(state[1] or '', '^(%a+) (%d+) (%S*)$')
local run = server_run(of_run)
if not phase or of_run ~= run then
  phase, cursor = 'closing', '0'
end
local grace = state[2] or grace_ms
local longest = longest_lease(meta, lengths)

-- Each phase does one page and returns the cursor of the next one, '0' after the last.
local phases = {}

function phases.closing()
  local page = redis.call('HSCAN', closing, cursor, 'COUNT', COUNT)
  for i = 1, #page[2], 2 do
    local key = page[2][i]
    local record = redis.call('HGET', things, string.sub(key, 17))
    if record and string.sub(record, 1, 16) == string.sub(key, 1, 16) then
      redis.call('HDEL', closing, key)
      redis.call('ZREM', claims, key)
      redis.call('ZREM', letters, key)
    elseif redis.call('ZSCORE', letters, key) then
      redis.call('ZREM', claims, key)
    else
      redis.call('ZADD', claims, 'NX', now, key)
    end
  end
  return page[1]
end

local function prune(index, is_there)
  local page = redis.call('ZSCAN', index, cursor, 'COUNT', COUNT)
  for i = 1, #page[2], 2 do
    if not is_there(page[2][i]) then
      redis.call('ZREM', index, page[2][i])
    end
  end
  return page[1]
end

local function is_closing(key)
  return redis.call('HEXISTS', closing, key) == 1
end

function phases.claims()
  return prune(claims, is_closing)
end

function phases.letters()
  return prune(letters, is_closing)
end

function phases.due()
  return prune(due, function(id)
    local record = redis.call('HGET', things, id)
    return record and string.byte(record) ~= 48
  end)
end

local function file(id, record)
  local head = string.sub(record, 1, 16) .. '0' -- counted anew in the last phase
  local rest, first = string.sub(record, 18), nil
  if string.byte(rest) == 44 then
    local left
    left, first = living(things, record)
    rest = first and string.sub(left, 18) or '-lapsed before the shard was rebuilt'
  end
  if first then
    redis.call('ZADD', due, -tonumber(string.sub(first, -12), 16), id)
  else
    local score = redis.call('ZSCORE', due, id)
    if not score or tonumber(score) < 0 then
      redis.call('ZADD', due, now + grace, id)
    end
  end
  redis.call('HSET', things, id, head .. rest)
end

function phases.things()
  local page = redis.call('HSCAN', things, cursor, 'COUNT', COUNT)
  for i = 1, #page[2], 2 do
    local field, value = page[2][i], page[2][i + 1]
    local kind = string.byte(field)
    if kind == 44 then
      redis.call('ZADD', deadlines, 'NX', now + longest, field)
      redis.call('ZADD', lengths, 'NX', longest, field)
    elseif kind == 61 then
      if string.byte(value) == 48 then
        redis.call('HDEL', things, field)
      else
        file(field, value)
      end
    end
  end
  return page[1]
end

-- By rank, since a scan may return an entry twice. Nothing else changes `claims` meanwhile.
function phases.count()
  local keys = redis.call('ZRANGE', claims, cursor, cursor + COUNT - 1)
  for _, key in ipairs(keys) do
    unfinished(things, string.sub(key, 17), 1)
  end
  return #keys < COUNT and '0' or tostring(cursor + COUNT)
end

if phase == 'rest' then
  if not finish then
    return {'REST', phase}
  end
  local raised = raise(things)
  redis.call('HSET', meta, 'quiet', now + longest)
  redis.call('HDEL', meta, 'rebuild', 'rest')
  redis.call('HSET', things, 'U', raised)
  return {'DONE', phase}
end
raise(things)
cursor = phases[phase]()
if cursor == '0' then
  phase = NEXT[phase]
end
redis.call('HSET', meta, 'rebuild', phase .. ' ' .. cursor .. ' ' .. run, 'rest', '', 'quiet', now + longest)
return {phase == 'rest' and 'REST' or 'MORE', phase}
