#include "cycloid/io/foreign_call.h"

#include <unwind.h>

namespace cycloid::inline io {
namespace {

thread_local std::jmp_buf* way_back = nullptr;

}  // namespace

// The frame of guarded_call: says that it handles everything, and takes over when the frames below
// it have been unwound. A forced unwinding, as of a cancelled thread, passes through.
extern "C" _Unwind_Reason_Code cycloid_io_personality(int, _Unwind_Action actions,
                                                      _Unwind_Exception_Class,
                                                      _Unwind_Exception* exception,
                                                      _Unwind_Context*) {
  if (actions & _UA_FORCE_UNWIND) return _URC_CONTINUE_UNWIND;
  if (actions & _UA_SEARCH_PHASE) return _URC_HANDLER_FOUND;
  if (!(actions & _UA_HANDLER_FRAME)) return _URC_CONTINUE_UNWIND;
  if (exception->exception_cleanup) {
    exception->exception_cleanup(_URC_FOREIGN_EXCEPTION_CAUGHT, exception);
  }
  std::longjmp(*way_back, 1);
}

// Where the frame's description finds the routine: 0x9b is an indirect 32-bit offset from there.
extern "C" {
[[gnu::visibility("hidden"), gnu::used]] _Unwind_Personality_Fn cycloid_io_personality_address =
    &cycloid_io_personality;
}

namespace {

// Has no cleanup of its own, so that the compiler names no other personality.
[[gnu::noinline, gnu::noclone]] void guarded_call(void (*function)(const void*),
                                                  const void* argument) {
  asm volatile(".cfi_personality 0x9b, cycloid_io_personality_address");
  function(argument);
  asm volatile("" ::: "memory");  // the call is not the last thing: the frame stays
}

}  // namespace

bool ForeignCall::completes(void (*function)(const void*), const void* argument) {
  std::jmp_buf here;
  std::jmp_buf* const outer = way_back;
  // `outer` is not changed after setjmp: it has its value when control comes back.
  if (setjmp(here) != 0) {
    way_back = outer;
    return false;
  }
  way_back = &here;
  guarded_call(function, argument);
  way_back = outer;
  return true;
}

void ForeignCall::leave() {
  if (way_back) std::longjmp(*way_back, 1);
}

}  // namespace cycloid::inline io
