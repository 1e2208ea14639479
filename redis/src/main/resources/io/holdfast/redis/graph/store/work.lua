-- What a call gives up and what ends: collected first, and written to `doomed` and the ledger at its end.
--   doomed  sorted set, all scores 0: SEGMENT CALL HOLDS VALUES CAUSE
--             HOLDS > 0  so many holds from outside on VALUES are to be given up; a value may be named more than once
--             HOLDS = 0  VALUES have ended and are to be erased; * is the whole segment
-- A hold that is to be given up still counts, so counts are only ever too high.
local SLASH = 47

local function new_work()
  return {given = {}, ended = {}, unsaved = {}, freed = {}, spent = 0}
end

local function give_up(work, segment, holds, values, cause)
  local to = work.given[segment]
  if not to then
    to = {holds = 0, cause = cause}
    work.given[segment] = to
  end
  to[#to + 1] = values
  to.holds = to.holds + holds
end

-- Gives up children in other segments. Those in the same one are appended to own, if that is given.
local function give_up_children(work, children, cause, own)
  for run in string.gmatch(children, '%S+') do
    if string.byte(run, 17) == SLASH then
      local slash = string.find(run, '/', 18, true)
      local holds = tonumber(string.sub(run, 18, slash - 1))
      give_up(work, string.sub(run, 1, 16), holds, string.sub(run, slash + 1), cause)
      work.spent = work.spent + 3 + holds / 24
    elseif own then
      own[#own + 1] = run
    end
  end
end

local function ended(work, segment, values, count, cause)
  work.ended[#work.ended + 1] = {segment, values, cause}
  local freed = work.freed[cause] or {count = 0}
  work.freed[cause] = freed
  freed[#freed + 1] = segment .. '/' .. values
  freed.count = freed.count + count
end

-- An id `SEGMENT.VALUE` that a lease or a root held.
local function give_up_id(work, id, cause)
  give_up(work, string.sub(id, 1, 16), 1, string.sub(id, 18), cause)
end

local function queue_work(call, doomed, work)
  local items, n = {}, 0
  for segment, to in pairs(work.given) do
    note(segment)
    items[n + 1] = 0
    items[n + 2] = table.concat({segment, call.number, to.holds, table.concat(to, ','), to.cause}, ' ')
    n = n + 2
  end
  for _, it in ipairs(work.ended) do
    items[n + 1], items[n + 2] = 0, table.concat({it[1], call.number, 0, it[2], it[3]}, ' ')
    n = n + 2
  end
  for from = 1, n, 4000 do
    redis.call('ZADD', doomed, unpack(items, from, math.min(n, from + 3999)))
  end
end

-- Notes in the ledger what ended, and why. Answers how many values.
local function record_freed(work, ledger, capacity, space, by)
  local freed = 0
  for cause, done in pairs(work.freed) do
    freed = freed + done.count
    local reason = string.sub(cause, 1, 6) == 'lapsed' and 'LAPSED' or 'RELEASED'
    record_gone(ledger, capacity, 'VALUE', space, reason, cause, by, table.concat(done, ' '))
  end
  return freed
end
