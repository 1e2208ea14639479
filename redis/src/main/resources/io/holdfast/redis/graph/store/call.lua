--@include ../../lease/time.lua
--@include ../../lease/quiet.lua
--@include ../../hold/tally.lua
--@include ../../hold/ledger.lua
-- How a call of a graph begins and ends.
--
-- meta: layout, addressing   fixed when the graph was made
--       T, U                 the tally (tally.lua); T also numbers the calls that write
--       values               how many values there are that have not ended
--       noting               until when a verify runs, in ms: calls note the segments whose holds they change
--       mark                 until when nothing is freed, in ms: somebody reads all values
--       dropped              version of the latest drop of any root
--       run, seen, quiet …   quiet time (quiet.lua)
local noted_segments

-- Answers the call, or nil and what to reply: the graph is not there, or a call was torn.
local function begin(meta)
  local is = redis.call('HMGET', meta, 'layout', 'T', 'U', 'values', 'noting', 'mark', 'dropped', 'drainer')
  if not is[1] then
    return nil, {'NOGRAPH'}
  elseif is_torn(is[2], is[3]) then
    return nil, redis.error_reply(TORN)
  end
  noted_segments = is[5] and tonumber(is[5]) > clock() and {} or nil
  local values, mark = tonumber(is[4] or 0), tonumber(is[6] or 0)
  return {meta = meta, values = values, mark = mark, dropped = is[7] or '0', drainer = is[8]}
end

-- A running verify gives no verdict on this segment.
local function note(segment)
  if noted_segments then noted_segments[segment] = true end
end

-- Before the first write of a call that makes several.
local function open_tally(call)
  call.number = raise(call.meta)
end

-- After its last write.
local function close_tally(call, noted)
  for segment in pairs(noted_segments or {}) do
    redis.call('SADD', noted, segment)
  end
  redis.call('HSET', call.meta, 'values', call.values, 'U', call.number)
end
--@include segment.lua
--@include work.lua
